import { type Action, type Area, useMay, useSession } from './session.ts';

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
  /** Opens the page when it is typed after `g`. */
  readonly key: string;
  /** Permission without which the page is empty. */
  readonly needs?: Action;
  /** Area of the API that the page reads. */
  readonly area: Area;
  /** Whether a recorded run has data for it. */
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
      { to: '/', area: 'executions', label: 'Overview', key: 'o', isRecorded: true },
      { to: '/runs', area: 'executions', label: 'Runs', key: 'r', isRecorded: true },
      { to: '/traces', area: 'executions', label: 'Traces', key: 't', isRecorded: true },
      { to: '/approvals', area: 'approvals', label: 'Approvals', key: 'a', isRecorded: true },
      { to: '/catalog', area: 'agents', label: 'Catalog', key: 'c' },
    ],
  },
  {
    group: 'Inside',
    pages: [
      { to: '/actors', area: 'executions', label: 'Actors', key: 'k', isRecorded: true },
      { to: '/dead-letters', area: 'executions', label: 'Dead letters', key: 'd', isRecorded: true },
      { to: '/fleet', area: 'cluster', label: 'Fleet', key: 'f', needs: 'inspect' },
      { to: '/faults', area: 'cluster', label: 'Faults', key: 'b', needs: 'break' },
    ],
  },
  {
    group: 'Around',
    pages: [
      { to: '/stimuli', area: 'stimuli', label: 'Stimuli', key: 's' },
      { to: '/patterns', area: 'patterns', label: 'Learned patterns', key: 'p' },
      { to: '/volumes', area: 'volumes', label: 'Volumes', key: 'v' },
    ],
  },
  {
    group: 'Access',
    pages: [
      { to: '/secrets', area: 'secrets', label: 'Secrets', key: 'e' },
      { to: '/keys', area: 'keys', label: 'API keys', key: 'y' },
      { to: '/limits', area: 'limits', label: 'Limits', key: 'l' },
      { to: '/audit', area: 'audit', label: 'Audit', key: 'u', needs: 'audit' },
    ],
  },
];

/** The pages with data for the user, in the order of the navigation. */
export function usePages(): readonly PageGroup[] {
  const may = useMay();
  const { me, config } = useSession();
  if (config.recording !== null) return groupsOf(({ isRecorded }) => isRecorded === true);
  // Until the node has reported the caller's permissions, only the pages for everyone are shown.
  if (me === null) return groupsOf(({ needs }) => needs === undefined);
  return groupsOf(({ needs = 'read', area }) => may(needs, area));
}

const groupsOf = (isShown: (page: PageEntry) => boolean): readonly PageGroup[] =>
  PAGES.map(({ group, pages }) => ({ group, pages: pages.filter(isShown) })).filter(({ pages }) => pages.length > 0);
