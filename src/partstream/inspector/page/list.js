// list.js
