/** One life of a node, as its pulse names it. */
export interface Life {
  readonly node: string;
  readonly incarnation: string;
}

/** Longest line anybody reads. */
export const HELLO_LIMIT_BYTES = 400;

const HELLO = /^svc-pulse 1 ([^\s]{1,128}) ([^\s]{1,128})$/;

/** The only thing a pulse connection ever carries: who is at the other end. */
export const helloOf = ({ node, incarnation }: Life): string => `svc-pulse 1 ${node} ${incarnation}\n`;

/** Null for anything that is not the hello line of this version. */
export function parseHello(line: string): Life | null {
  const [, node, incarnation] = HELLO.exec(line) ?? [];
  return node === undefined || incarnation === undefined ? null : { node, incarnation };
}
