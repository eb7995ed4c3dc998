/* Part of the book In Place. Licence: Apache-2.0. */
"use strict";(()=>{var e=document.currentScript;new URLSearchParams(location.search).get("marked")&&document.head.append(Object.assign(document.createElement("script"),{src:e.src.replace("marks.js","mark-words.js")}));})();
