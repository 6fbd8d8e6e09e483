// Reads the log of the vendor's assembler.
#pragma once
#include "targets/nvidia/Assembler.h"

namespace tegula::nvidia {

// The lines with errors, or all where none has one; bounded, since it ends up in a message.
std::string errorsIn(const std::string &log);

// Returns true if the text needs more registers or shared memory than there is.
bool saysTooLarge(const std::string &log);

// "Entry function 'f' uses too much shared data (0x40000 bytes, 0xc000 max)" -> the sentence with these
// numbers, and a new line; empty where the log has none such.
std::string limitIn(const std::string &log);

// Registers and memory that the kernel uses.
void readUsage(const std::string &log, Assembled &out);

// "FILE:LINE:COLUMN: " of the program's text that the first line with an error was made from, as the PTX's
// `.loc` directives say it. Empty where the log names no line, or none of those stands above it.
std::string placeOfError(const std::string &log, const std::string &ptx);

} // namespace tegula::nvidia
