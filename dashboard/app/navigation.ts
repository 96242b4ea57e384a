import type { Action } from './session.ts';

/** The pages in the order of the navigation. `key` goes there after `g`. */
interface PageEntry {
  readonly to: '/' | '/runs' | '/approvals';
  readonly label: string;
  readonly key: string;
  /** What the user must be allowed to do for the page to hold anything. */
  readonly needs?: Action;
}

export const PAGES: readonly { readonly group: string; readonly pages: readonly PageEntry[] }[] = [
  {
    group: 'Work',
    pages: [
      { to: '/', label: 'Overview', key: 'o' },
      { to: '/runs', label: 'Runs', key: 'r' },
      { to: '/approvals', label: 'Approvals', key: 'a' },
    ],
  },
];
