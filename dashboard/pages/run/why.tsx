import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { WhyLink } from '../../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../../api/queries.ts';
import { hasEnded, type RunKind } from '../../api/runs.ts';
import { plainLine, plainText } from '../../parts/format.ts';
import { ReadState } from '../../parts/notice.tsx';
import { TimeAgo } from '../../parts/time.tsx';

interface WhyProps {
  readonly kind: RunKind;
  readonly id: string;
  readonly status: string;
}

/** First the reason, then the details: why the run waits, or why it ended, to the last cause. */
export function Why({ kind, id, status }: WhyProps) {
  const isOver = hasEnded({ status });
  const read = useQuery({
    queryKey: ['why', kind, id, status],
    queryFn: () => (kind === 'execution' ? api.executions.why({ id }) : api.workflowExecutions.why({ id })),
    refetchInterval: isOver ? false : listRefreshMs(),
  });
  if (read.data === undefined) return <ReadState of={read} what="why" />;
  const { waiting, sentence, chain } = read.data;
  // The links after a completed run are about the error of its last state.
  const isGood = status === 'completed' && chain.length === 1;
  const tone = waiting ? 'waits' : isGood ? 'good' : 'bad';
  return (
    <section className={`why notice-${tone}`} aria-label={waiting ? 'Why it waits' : 'Why it ended so'}>
      <p className="why-sentence">
        <Linked sentence={sentence} chain={chain.filter((link) => link.id !== id)} />
      </p>
      {chain.length > 1 && (
        <details>
          <summary>The chain to the last cause</summary>
          <ol className="why-chain">
            {chain.map((link, at) => (
              <li key={`${link.kind} ${link.id ?? at}`}>
                <WhyStep link={link} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

/** Longer than any sentence of the API. */
const MOST_CHARS = 20_000;

/** The sentence with its short ids as links to what they name. */
function Linked({ sentence, chain }: { readonly sentence: string; readonly chain: readonly WhyLink[] }) {
  return sentence
    .slice(0, MOST_CHARS)
    .split(/([\da-f]{8}…)/)
    .map((part, at) => {
      const link = at % 2 === 1 ? chain.find(({ id }) => id?.startsWith(part.slice(0, 8))) : undefined;
      const text = plainText(part);
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence do not move.
      return <Fragment key={at}>{link === undefined ? text : <Target link={link}>{text}</Target>}</Fragment>;
    });
}

function WhyStep({ link }: { readonly link: WhyLink }) {
  return (
    <>
      <Linked sentence={plainLine(link.reason, 300)} chain={[link]} />
      {link.kind === 'approval' && (
        <>
          {': '}
          <Target link={link}>answer it</Target>
        </>
      )}
      {link.until !== null && (
        <span className="quiet">
          {', goes on by itself '}
          <TimeAgo at={link.until} />
        </span>
      )}
    </>
  );
}

/** Link to the page of a link of the chain; only the short text where there is no page. */
function Target({ link, children }: { readonly link: WhyLink; readonly children: ReactNode }) {
  const { kind, id } = link;
  if (id === null) return children;
  const run = runKindOf(link);
  if (run !== null) {
    return (
      <Link to="/runs/$kind/$id" params={{ kind: run, id }}>
        {children}
      </Link>
    );
  }
  if (kind === 'approval') {
    return (
      <Link to="/approvals" search={{ id }}>
        {children}
      </Link>
    );
  }
  return <span title={plainLine(id)}>{children}</span>;
}

function runKindOf(link: WhyLink): RunKind | null {
  switch (link.kind) {
    case 'execution':
    case 'judge':
      return 'execution';
    case 'workflow':
      return 'workflow';
    case 'child':
      return 'of' in link && link.of === 'workflow' ? 'workflow' : 'execution';
    default:
      return null;
  }
}
