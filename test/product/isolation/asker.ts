import { randomUUID } from 'node:crypto';
import type { Ask, ProductNode } from '../product-node.ts';
import { bytesOf } from '../tenancy.ts';

export type Args = Readonly<Record<string, unknown>>;

/** Someone who asks: a token of the identity provider, or an API key. */
export interface Asker {
  readonly name: string;
  /** Where it acts. */
  readonly tenant: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** One question, with what stands for the name in it. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly ask?: Ask;
}

/** A name or id that is no one's, as long as the real one: an answer's length tells nothing either. */
export function unknownFor(name: string): string {
  if (/^[0-9a-f]{32}$/.test(name)) return randomUUID().replaceAll('-', '');
  return /^[0-9a-f-]{36}$/.test(name) ? randomUUID() : 'n'.repeat(name.length);
}

/** A text in which what was asked for has no name. */
export const withoutAsked = (text: string, asked: string): string => text.replaceAll(asked, '(asked)');

export const jsonAsk = (body: unknown): Ask => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Status, headers and body of the answer, without what was asked for. */
export async function answerTo(node: ProductNode, asker: Asker, question: Question, asked: string): Promise<string> {
  const { method, path, ask = {} } = question;
  const headers = { ...asker.headers, ...ask.headers };
  return withoutAsked(bytesOf(await node.call(method, path, { ...ask, headers })), asked);
}

/** `POST /v1/tools/{name}`: what /mcp offers, over REST. */
export const toolQuestion = (tool: string, args: Args): Question => ({
  method: 'POST',
  path: `/v1/tools/${tool}`,
  ask: jsonAsk(args),
});
