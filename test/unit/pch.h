// The headers that most tests of modules with MLIR include.
#pragma once
#include "../../cmake/pch.h"

#include <gtest/gtest.h>
