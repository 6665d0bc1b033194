// detail.js
