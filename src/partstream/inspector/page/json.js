// json.js
