import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { WhyLink } from '../../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../../api/queries.ts';
import { hasEnded, type RunKind } from '../../api/runs.ts';
import { plainLine, plainText } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { TimeAgo } from '../../parts/time.tsx';
import { RunLink } from './head.tsx';

interface WhyProps {
  readonly kind: RunKind;
  readonly id: string;
  readonly status: string;
}

/** The answer before the evidence: why the run waits, or why it ended so, to the last cause. */
export function Why({ kind, id, status }: WhyProps) {
  const isOver = hasEnded({ status });
  const read = useQuery({
    queryKey: ['why', kind, id, status],
    queryFn: () => (kind === 'execution' ? api.executions.why({ id }) : api.workflowExecutions.why({ id })),
    refetchInterval: isOver ? false : listRefreshMs(),
  });
  if (read.data === undefined) return <ReadState of={read} what="why" />;
  const { waiting, sentence, chain } = read.data;
  const tone = waiting ? 'waits' : status === 'completed' ? 'good' : 'bad';
  return (
    <section className={`why notice-${tone}`} aria-label={waiting ? 'Why it waits' : 'Why it ended so'}>
      <p className="why-sentence">{plainText(sentence)}</p>
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

function WhyStep({ link }: { readonly link: WhyLink }) {
  return (
    <>
      <span className="quiet">{link.kind.replaceAll('_', ' ')}</span> {plainLine(link.reason, 300)}{' '}
      {link.id !== null && <Target kind={link.kind} id={link.id} of={'of' in link ? link.of : ''} />}
      {link.until !== null && (
        <span className="quiet">
          {' '}
          until <TimeAgo at={link.until} />
        </span>
      )}
    </>
  );
}

function Target({ kind, id, of }: { readonly kind: WhyLink['kind']; readonly id: string; readonly of: string }) {
  switch (kind) {
    case 'execution':
    case 'judge':
      return <RunLink kind="execution" id={id} />;
    case 'workflow':
      return <RunLink kind="workflow" id={id} />;
    case 'child':
      return <RunLink kind={of === 'workflow' ? 'workflow' : 'execution'} id={id} />;
    case 'approval':
      return (
        <Link to="/approvals" search={{ id }}>
          answer it
        </Link>
      );
    default:
      return <Id id={id} length={24} />;
  }
}
