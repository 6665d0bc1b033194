// filters.js
