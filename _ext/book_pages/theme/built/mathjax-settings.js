/* Part of the book In Place. Licence: Apache-2.0. */
"use strict";(()=>{Object.assign(window,{MathJax:{options:{enableMenu:!1,ignoreHtmlClass:"tex2jax_ignore|mathjax_ignore|document",processHtmlClass:"tex2jax_process|mathjax_process|math|output_area"}}});})();
