import sys

from sortkey.cli.main import main

sys.exit(main())
