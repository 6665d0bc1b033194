// head.js
