import type { Documents } from '../../runtime/documents.ts';
import { checkedDocuments, isWrite } from '../support/over-documents.ts';

/** The same store for a process that dies after this number of writes: every later one fails and has no effect. */
export function crashingDocuments(documents: Documents, writes: number): Documents {
  let left = writes;
  const checked = checkedDocuments(documents, (method) => {
    if (!isWrite(method)) return;
    if (left === 0) throw new Error('the process is dead');
    left -= 1;
  });
  return { ...checked, open: async () => undefined, close: async () => undefined };
}
