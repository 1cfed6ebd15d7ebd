// A page that is opened as a file may not read others: results of the search are shown without their summaries.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
