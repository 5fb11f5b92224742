// Choosing a query, or pointing at a node, highlights what belongs to it. Everything it knows stands in data-attributes.
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg"), view = figure.querySelector(".view"), choice = figure.querySelector("select");
  const lines = [...svg.querySelectorAll("path")], boxes = [...svg.querySelectorAll("g")];
  const rows = [...document.querySelectorAll(`tr[data-in="${figure.id}"]`)];
  const serves = (part, query) => part.dataset.queries.split(" ").includes(query);

  // All nodes on ways to a node, or from it; of a graph with cycles just its neighbours.
  const along = (node, here, there) => {
    const found = new Set([node]), front = [node];
    while (front.length) {
      const at = front.pop();
      for (const line of lines) {
        const next = line.dataset[there];
        if (line.dataset[here] !== at || found.has(next)) continue;
        found.add(next);
        if (!figure.hasAttribute("data-cyclic")) front.push(next);
      }
    }
    return found;
  };

  const mark = (isOn) => {
    svg.classList.toggle("some", isOn !== null);
    for (const part of [...lines, ...boxes, ...rows]) part.classList.toggle("on", isOn !== null && isOn(part));
  };
  const chosen = () => {
    const query = choice.value;
    mark(query === "" ? null : (part) => serves(part, query));
    for (const row of rows) row.hidden = query !== "" && !serves(row, query);
  };
  const pointed = (node) => {
    const before = along(node, "to", "from"), after = along(node, "from", "to");
    const within = (names, part) => names.has(part.dataset.from) && names.has(part.dataset.to);
    const touches = (part) => part.dataset.from === node || part.dataset.to === node;
    mark((part) => part.dataset.node !== undefined
      ? before.has(part.dataset.node) || after.has(part.dataset.node)
      : figure.hasAttribute("data-cyclic") ? touches(part) : within(before, part) || within(after, part));
  };
  for (const part of [...boxes, ...rows]) {
    part.addEventListener("mouseenter", () => pointed(part.dataset.node));
    part.addEventListener("mouseleave", chosen);
  }
  choice.addEventListener("change", chosen);
  for (const name of document.querySelectorAll(`button[data-chooses="${figure.id}"]`)) {
    name.addEventListener("click", () => {
      choice.value = name.value;
      chosen();
      figure.scrollIntoView();
    });
  }

  const width = Number(svg.getAttribute("width"));
  // A drawing that is a little too wide begins with all of it in sight, as long as its words can be read.
  let zoom = 1;
  const show = (factor) => {
    zoom = factor;
    svg.style.width = `${zoom * width}px`;
  };
  const edges = getComputedStyle(view);
  const fit = () => Math.min(1, (view.clientWidth - parseFloat(edges.paddingLeft) - parseFloat(edges.paddingRight)) / width);
  if (fit() >= 0.6) show(fit());
  for (const button of figure.querySelectorAll("button[data-zoom]")) {
    button.addEventListener("click", () => {
      show(button.dataset.zoom === "fit" ? fit() : zoom * Number(button.dataset.zoom));
    });
  }
  chosen();
}
