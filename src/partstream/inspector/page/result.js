// result.js
