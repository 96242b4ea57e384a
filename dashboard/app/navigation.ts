import { type Action, useMay, useSession } from './session.ts';

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
  /** A recorded run has something for it. */
  readonly isRecorded?: true;
}

interface PageGroup {
  readonly group: string;
  readonly pages: readonly PageEntry[];
}

const PAGES: readonly PageGroup[] = [
  {
    group: 'Work',
    pages: [
      { to: '/', label: 'Overview', key: 'o', isRecorded: true },
      { to: '/runs', label: 'Runs', key: 'r', isRecorded: true },
      { to: '/traces', label: 'Traces', key: 't', isRecorded: true },
      { to: '/approvals', label: 'Approvals', key: 'a', isRecorded: true },
      { to: '/catalog', label: 'Catalog', key: 'c' },
    ],
  },
  {
    group: 'Inside',
    pages: [
      { to: '/actors', label: 'Actors', key: 'k', isRecorded: true },
      { to: '/dead-letters', label: 'Dead letters', key: 'd', isRecorded: true },
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

/** The pages that hold something for the user, in the order of the navigation. */
export function usePages(): readonly PageGroup[] {
  const may = useMay();
  const isRecording = useSession().config.recording !== null;
  return PAGES.map(({ group, pages }) => ({
    group,
    pages: pages.filter(
      ({ needs, isRecorded }) => (needs === undefined || may(needs)) && (!isRecording || isRecorded === true),
    ),
  })).filter(({ pages }) => pages.length > 0);
}
