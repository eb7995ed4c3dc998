/** Settings that MathJax reads when it starts. The menu is off, because it would load parts that the book lacks. */

Object.assign(window, {
  MathJax: {
    options: {
      enableMenu: false,
      ignoreHtmlClass: 'tex2jax_ignore|mathjax_ignore|document',
      processHtmlClass: 'tex2jax_process|mathjax_process|math|output_area',
    },
  },
});
