// Lines over time, drawn by uPlot in the colours of the page.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function timeChart(place, names, rows, { colours, marks, wait }) {
  if (rows[0].length < 2) { place.textContent = wait; place.className = "quiet"; return; }
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const drawMarks = (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 4]);
    for (const { at, kind } of marks) {
      ctx.strokeStyle = colour(kind === "alarm" ? "--warn" : "--quiet");
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    }
    ctx.restore();
  };
  new uPlot({
    width: Math.max(place.clientWidth, 200),
    height: 220,
    cursor: { show: false },
    axes: [{ ...axis, space: 80 }, { ...axis, size: 60, values: (_, ticks) => ticks.map((y) => y.toLocaleString("en")) }],
    series: [{}, ...names.map((label, k) => ({ label, stroke: colour(colours[k]), width: 2, points: { show: false } }))],
    hooks: { draw: [drawMarks] },
  }, rows, place);
}
