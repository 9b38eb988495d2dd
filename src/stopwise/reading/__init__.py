"""One reader for every log: audits, labels, recordings and warm starts begin with `open_log`."""

from stopwise.reading.log import Log as Log
from stopwise.reading.log import open_log as open_log
