"""``python -m tegula.profiler.proton [OPTIONS] SCRIPT ARGS...`` (upstream's command `proton`): runs a script, or
`pytest ARGS...`, in a session, and writes its profile also where it fails. The script's own `start` and `finalize` do
nothing."""
import argparse
import os
import runpy
import sys

from ..alias import install_as_triton
from . import sessions


def _parser():
    parser = argparse.ArgumentParser(prog="proton", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--name", help=f"the profile is NAME{sessions.SUFFIX}; {sessions.DEFAULT_PROFILE_NAME} without")
    parser.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"],
                        help="frames are scopes, or the Python functions that run")
    parser.add_argument("-k", "--hook", choices=["triton", "launch"], help="asks the launch_metadata of kernels")
    parser.add_argument("-b", "--backend", help=argparse.SUPPRESS)
    parser.add_argument("-m", "--mode", help=argparse.SUPPRESS)
    parser.add_argument("-d", "--data", default="tree", help=argparse.SUPPRESS)
    parser.add_argument("target", nargs=argparse.REMAINDER, metavar="SCRIPT ARGS...")
    return parser


def _run(script, arguments):
    sys.argv = [script, *arguments]
    if os.path.basename(script) == "pytest":
        sys.path[0] = os.getcwd()
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        runpy.run_path(script, run_name="__main__")


def main():
    parser = _parser()
    options = parser.parse_args()
    if not options.target:
        parser.error("which script?")
    script, *arguments = options.target
    if os.path.basename(script) != "pytest" and not os.path.isfile(script):
        parser.error(f"there is no file {script}")
    install_as_triton()
    try:
        sessions.begin_command(options.name, context=options.context, data=options.data, backend=options.backend,
                               mode=options.mode, hook=options.hook)
    except (NotImplementedError, ValueError, OSError) as error:
        parser.error(str(error))
    try:
        _run(script, arguments)
    finally:
        sessions.end_command()


if __name__ == "__main__":
    main()
