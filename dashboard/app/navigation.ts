import type { Action } from './session.ts';

interface PageEntry {
  readonly to:
    | '/'
    | '/runs'
    | '/traces'
    | '/approvals'
    | '/actors'
    | '/dead-letters'
    | '/fleet'
    | '/catalog'
    | '/stimuli'
    | '/patterns'
    | '/volumes'
    | '/secrets'
    | '/keys'
    | '/limits'
    | '/audit'
    | '/faults';
  readonly label: string;
  /** Goes there after `g`. */
  readonly key: string;
  /** What the user must be allowed to do for the page to hold anything. */
  readonly needs?: Action;
}

/** The pages in the order of the navigation. */
export const PAGES: readonly { readonly group: string; readonly pages: readonly PageEntry[] }[] = [
  {
    group: 'Work',
    pages: [
      { to: '/', label: 'Overview', key: 'o' },
      { to: '/runs', label: 'Runs', key: 'r' },
      { to: '/traces', label: 'Traces', key: 't' },
      { to: '/approvals', label: 'Approvals', key: 'a' },
      { to: '/catalog', label: 'Catalog', key: 'c' },
    ],
  },
  {
    group: 'Inside',
    pages: [
      { to: '/actors', label: 'Actors', key: 'k' },
      { to: '/dead-letters', label: 'Dead letters', key: 'd' },
      { to: '/fleet', label: 'Fleet', key: 'f', needs: 'inspect' },
      { to: '/faults', label: 'Faults', key: 'b', needs: 'break' },
    ],
  },
  {
    group: 'Around',
    pages: [
      { to: '/stimuli', label: 'Stimuli', key: 's' },
      { to: '/patterns', label: 'Learned patterns', key: 'p' },
      { to: '/volumes', label: 'Volumes', key: 'v' },
    ],
  },
  {
    group: 'Access',
    pages: [
      { to: '/secrets', label: 'Secrets', key: 'e' },
      { to: '/keys', label: 'API keys', key: 'y' },
      { to: '/limits', label: 'Limits', key: 'l' },
      { to: '/audit', label: 'Audit', key: 'u' },
    ],
  },
];
