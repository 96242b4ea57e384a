import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useFeed } from '../api/feed.ts';
import { api, queries } from '../api/queries.ts';
import { plainLine } from '../parts/format.ts';
import { ClockTime, TimeAgo, useNow } from '../parts/time.tsx';
import { CHOICES, useChoice } from './choices.ts';
import { Keys, type Over } from './keys.tsx';
import { usePages } from './navigation.ts';
import { useSilence } from './node-answers.ts';
import { needsSignIn, setMe, signOut, useMay, useSession, whoIs } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useFilters } from './use-filters.ts';

/** The parts that all pages share: navigation, content, keys. */
export function Shell() {
  const session = useSession();
  const isOut = needsSignIn(session);
  useEffect(() => {
    // The next user must not see data that was read for the previous one.
    if (isOut) queries.clear();
  }, [isOut]);
  return isOut ? <SignIn /> : <Frame />;
}

/** Reads the caller and its permissions from the node, once for each sign-in. */
function useCaller(): void {
  const { signIn, config } = useSession();
  useQuery({
    queryKey: ['me', signIn],
    queryFn: async () => {
      const me = await api.callers.me();
      setMe(me);
      return me;
    },
    // A recording has no callers.
    enabled: config.recording === null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function Frame() {
  const may = useMay();
  const groups = usePages();
  const { me } = useSession();
  const [isOpen, setIsOpen] = useState(false);
  const [shown, setShown] = useState<Over>(null);
  useCaller();
  const topics = ['run', may('read', 'approvals') && 'approval', may('inspect', 'cluster') && 'node'];
  const [{ tenant = '' }] = useFilters();
  useFeed(me === null || !may('read') ? '' : topics.filter((one) => one !== false).join(' '), tenant);
  const shownOf = useRef(tenant);
  useEffect(() => {
    if (shownOf.current === tenant) return;
    shownOf.current = tenant;
    queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' }).catch(() => signOut());
  }, [tenant]);
  return (
    <div className={`shell${isOpen ? ' open' : ''}`}>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <div className="top-bar">
        <button type="button" className="plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          ☰ <span className="brand">svc</span>
        </button>
      </div>
      <nav aria-label="Pages" className="side">
        <span className="brand">svc</span>
        <button
          type="button"
          className="search"
          onClick={() => {
            setIsOpen(false);
            setShown('search');
          }}
        >
          Search <kbd>/</kbd>
        </button>
        {groups.map(({ group, pages }) => (
          <ul key={group} aria-label={group}>
            {pages.map(({ to, label }) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                  onClick={() => setIsOpen(false)}
                >
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        ))}
        <SideFoot showKeys={() => setShown('keys')} />
      </nav>
      <main id="page" tabIndex={-1}>
        <SilenceBanner />
        <RecordingBanner />
        <Outlet />
      </main>
      <Keys shown={shown} setShown={setShown} />
    </div>
  );
}

/** A shorter silence is usual: a node that restarts, a browser that wakes up. */
const LEAST_SILENCE_MS = 3_000;

/** Says on every page that its data is old, since the node does not answer. */
function SilenceBanner() {
  const since = useSilence();
  // The page changes again when the silence has lasted long enough.
  useNow();
  const isLong = since !== null && Date.now() - since >= LEAST_SILENCE_MS;
  return (
    <div role="status" className={isLong ? undefined : 'unseen'}>
      {isLong && (
        <p className="notice notice-bad">
          <span>
            This node has not answered since <ClockTime at={new Date(since).toISOString()} />. The page shows what it
            read before, and tries again. Other nodes of the fleet have the same pages.
          </span>
        </p>
      )}
    </div>
  );
}

/** Marks every page of a recording. */
function RecordingBanner() {
  const { recording } = useSession().config;
  if (recording === null) return null;
  const { run, svc, recorded_at: at } = recording;
  return (
    <div role="note" className="notice notice-waits">
      <span>
        This is a recording by svc {plainLine(svc, 40)}
        {at !== null && (
          <>
            , made <TimeAgo at={at} />
          </>
        )}
        . Nothing runs here, and nothing can be changed.
      </span>
      {run !== null && (
        <Link to="/runs/$kind/$id" params={{ kind: run.kind, id: run.id }}>
          The run
        </Link>
      )}
    </div>
  );
}

function SideFoot({ showKeys }: { readonly showKeys: () => void }) {
  const session = useSession();
  const [{ tenant = '' }] = useFilters();
  return (
    <div className="side-foot">
      {CHOICES.map((choice) => (
        <ChoiceField key={choice.label} of={choice} />
      ))}
      <span className="quiet">
        {plainLine(whoIs(session), 60)}
        {session.me?.kind === 'service_account' && tenant !== '' && ` in ${plainLine(tenant, 60)}`}
      </span>
      {session.tokens !== null && (
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      )}
      <button type="button" className="plain link" onClick={showKeys}>
        Keys (?)
      </button>
      <a href="/docs">API {session.config.version}</a>
    </div>
  );
}

function ChoiceField({ of }: { readonly of: (typeof CHOICES)[number] }) {
  const chosen = useChoice<string>(of);
  return (
    <label>
      {of.label}{' '}
      <select value={chosen} onChange={(event) => of.choose(event.target.value)}>
        {of.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
