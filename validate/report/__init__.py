"""The report on some runs: what was found, as one HTML page, as JSON and as figures."""

from validate.report.report import FILES as FILES
from validate.report.report import FOLDERS as FOLDERS
from validate.report.report import Report as Report
