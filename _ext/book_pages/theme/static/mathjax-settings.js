/* MathJax reads this when it starts. The choices of its menu would load files that the book does not have. */
window.MathJax = {
  options: { enableMenu: false, ignoreHtmlClass: 'tex2jax_ignore|mathjax_ignore|document', processHtmlClass: 'tex2jax_process|mathjax_process|math|output_area' },
};
