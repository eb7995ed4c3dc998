/* Read by MathJax when it starts. The menu's choices would load parts of it that the book does not bring. */
window.MathJax = {
  options: { enableMenu: false, ignoreHtmlClass: 'tex2jax_ignore|mathjax_ignore|document', processHtmlClass: 'tex2jax_process|mathjax_process|math|output_area' },
};
