/**
 * Strongly connected components (Tarjan, without recursion): time linear in nodes and edges. A component comes after
 * those it leads to.
 */
export function componentsOf(
  nodes: Iterable<string>,
  successors: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open = new Set<string>();
  const stack: string[] = [];
  const components: string[][] = [];

  const enter = (node: string): { node: string; next: number } => {
    order.set(node, order.size);
    low.set(node, order.get(node) ?? 0);
    stack.push(node);
    open.add(node);
    return { node, next: 0 };
  };
  const lower = (node: string, value: number): void => {
    low.set(node, Math.min(low.get(node) ?? value, value));
  };

  for (const root of nodes) {
    if (order.has(root)) continue;
    const visits = [enter(root)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const { node } = visit;
      const next = successors(node)[visit.next];
      visit.next += 1;
      if (next !== undefined) {
        if (!order.has(next)) visits.push(enter(next));
        else if (open.has(next)) lower(node, order.get(next) ?? 0);
        continue;
      }
      visits.pop();
      const parent = visits.at(-1);
      if (parent !== undefined) lower(parent.node, low.get(node) ?? 0);
      if (low.get(node) === order.get(node)) components.push(take(stack, node, open));
    }
  }
  return components;
}

/** The top of the stack down to `first`. */
function take(stack: string[], first: string, open: Set<string>): string[] {
  const component = stack.splice(stack.lastIndexOf(first));
  for (const node of component) open.delete(node);
  return component;
}
