import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/queries.ts';
import { Dialog } from '../parts/dialog.tsx';
import { plainLine } from '../parts/format.ts';
import { CHOICES } from './choices.ts';
import { usePages } from './navigation.ts';
import { signOut, useMay, useSession } from './session.ts';

interface Hit {
  readonly key: string;
  readonly label: string;
  readonly kind: string;
  /** Its page or action. */
  readonly href: string | (() => void);
}

const MOST = 12;

/** Search over ids, names, pages and commands; `/` opens it. */
export function Palette({ close }: { readonly close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const hits = useHits(text.trim().toLowerCase());
  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    close();
    if (typeof hit.href === 'string') void navigate({ href: hit.href });
    else hit.href();
  };
  return (
    <Dialog title="Search" close={close}>
      <input
        type="search"
        role="combobox"
        aria-label="Search ids, names and commands"
        aria-expanded={true}
        aria-controls="hits"
        aria-activedescendant={hits[at] === undefined ? undefined : `hit-${at}`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
          else if (event.key === 'Enter') open(hits[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div id="hits" role="listbox" aria-label="Hits" className="hits">
        {hits.map((hit, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the field opens the hit.
          <div key={hit.key} id={`hit-${index}`} role="option" aria-selected={index === at} onClick={() => open(hit)}>
            <span>{plainLine(hit.label, 90)}</span>
            <span className="quiet">{hit.kind}</span>
          </div>
        ))}
      </div>
      {hits.length === 0 && <p className="quiet">Nothing found. Ids are found by their first characters.</p>}
    </Dialog>
  );
}

function useHits(text: string): Hit[] {
  const groups = usePages();
  const runs = useQuery({
    queryKey: ['runs', 'found', text],
    queryFn: () => api.runs.list({ limit: MOST, text: text === '' ? undefined : text }),
  });
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => api.agents.list() });
  const workflows = useQuery({ queryKey: ['workflows'], queryFn: () => api.workflows.list() });
  const all: Hit[] = [
    ...groups.flatMap(({ pages }) => pages).map(({ to, label }) => ({ key: to, label, kind: 'page', href: to })),
    ...(agents.data?.agents ?? []).map(({ agent_id, name }) => ({
      key: agent_id,
      label: name,
      kind: 'agent',
      href: `/catalog/agent/${agent_id}`,
    })),
    ...(workflows.data?.workflows ?? []).map(({ id, name }) => ({
      key: id,
      label: name,
      kind: 'workflow',
      href: `/catalog/workflow/${id}`,
    })),
    ...useCommands([...(agents.data?.agents ?? []), ...(workflows.data?.workflows ?? [])]),
    ...(runs.data?.runs ?? []).map(({ id, kind, name }) => ({
      key: id,
      label: `${name} ${id}`,
      kind: kind === 'execution' ? 'run of an agent' : 'run of a workflow',
      href: `/runs/${kind}/${id}`,
    })),
  ];
  return all.filter(({ key, label }) => key.startsWith(text) || label.toLowerCase().includes(text)).slice(0, MOST);
}

type Startable = { readonly name: string } & ({ readonly agent_id: string } | { readonly id: string });

/** Actions that are available on every page. */
function useCommands(startable: readonly Startable[]): Hit[] {
  const may = useMay();
  const { tokens } = useSession();
  const command = (label: string, href: Hit['href']): Hit => ({ key: label, label, kind: 'command', href });
  return [
    ...(may('write', 'agents') ? [command('New agent', '/catalog/edit?kind=agent')] : []),
    ...(may('write', 'workflows') ? [command('New workflow', '/catalog/edit?kind=workflow')] : []),
    ...(may('run')
      ? startable.map((one) =>
          command(
            `Start ${one.name}`,
            'agent_id' in one ? `/catalog/agent/${one.agent_id}?tab=start` : `/catalog/workflow/${one.id}?tab=start`,
          ),
        )
      : []),
    ...CHOICES.flatMap(({ label, options, choose }) =>
      options.map(([value, text]) => command(`${label}: ${text}`, () => choose(value))),
    ),
    ...(tokens === null ? [] : [command('Sign out', () => signOut())]),
  ];
}
