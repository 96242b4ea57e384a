import type { Address } from '../../runtime/address.ts';
import type { Json } from '../../runtime/json.ts';
import { openStores, type StoreLocation } from '../../runtime/open-stores.ts';

/** A call of a `KillNodeHandle` to a node in a process of its own, over the channel of `fork`. */
export type KillNodeCall = { readonly id: number } & (
  | { readonly verb: 'tell' | 'ask'; readonly to: Address; readonly type: string; readonly payload: Json }
  | { readonly verb: 'read'; readonly to: Address }
);

export const warn = (message: string, error: unknown): void => console.error(message, error ?? '');

/** Opens the stores that the first argument of the program names: a `StoreLocation` as JSON. */
export function storesOfProgram(): ReturnType<typeof openStores> {
  const location: Omit<StoreLocation, 'warn'> = JSON.parse(process.argv[2] ?? 'null');
  return openStores({ ...location, warn });
}

/** Answers each call with its id, and says that the node serves. */
export function answerCalls(answer: (call: KillNodeCall) => Promise<unknown>): void {
  process.on('message', (call: KillNodeCall) => {
    answer(call).then(
      (value) => process.send?.({ id: call.id, value }),
      (error: unknown) => process.send?.({ id: call.id, error: String(error) }),
    );
  });
  process.send?.({ id: 0, value: 'up' });
}
