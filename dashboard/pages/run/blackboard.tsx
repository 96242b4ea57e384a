import { useQuery } from '@tanstack/react-query';
import type { WorkflowExecutionStatus } from '../../../clients/typescript/gen/operations.ts';
import { type GotMessage, messagesOf } from '../../api/actor-messages.ts';
import { api, failureText, listRefreshMs } from '../../api/queries.ts';
import { hasEnded } from '../../api/runs.ts';
import { useFilters } from '../../app/use-filters.ts';
import { Differences } from '../../parts/differences.tsx';
import { counted, jsonText, plainLine, plainText } from '../../parts/format.ts';
import { LongJson, LongText } from '../../parts/long-text.tsx';
import { ReadState } from '../../parts/notice.tsx';
import { isObject } from '../../parts/schema-completion.ts';
import { ClockTime } from '../../parts/time.tsx';

/** The outputs of the run's states after a selected message, with the changes that the message made. */
export function Blackboard({ id, run }: { readonly id: string; readonly run: WorkflowExecutionStatus }) {
  const read = useQuery({
    queryKey: ['actor-messages', 'workflow', id],
    queryFn: () => messagesOf('workflow', id),
    refetchInterval: hasEnded(run) ? false : listRefreshMs(),
  });
  return (
    <>
      {read.data === undefined ? (
        <ReadState of={read} what="the messages of the run" />
      ) : (
        <Past id={id} messages={read.data.messages} isWhole={read.data.isWhole} />
      )}
      <h2>Blackboard now</h2>
      <LongJson value={run.blackboard} name="blackboard" />
    </>
  );
}

interface PastProps {
  readonly id: string;
  readonly messages: readonly GotMessage[];
  readonly isWhole: boolean;
}

/** A slider over the messages. The chosen one is in the address. */
function Past({ id, messages, isWhole }: PastProps) {
  const [{ at = '' }, setFilters] = useFilters();
  const found = messages.findIndex(({ message_id }) => message_id === at);
  const place = found === -1 ? messages.length - 1 : found;
  const here = messages[place];
  if (here === undefined) return <p className="quiet">No message to this run is kept, so its past is not known.</p>;
  return (
    <>
      <div className="slider">
        <label htmlFor="message">
          After message {place + 1} of {messages.length}: <b>{plainLine(here.type)}</b> <ClockTime at={here.at} />
        </label>
        <input
          id="message"
          type="range"
          min={1}
          max={messages.length}
          value={place + 1}
          onChange={(event) => setFilters({ at: messages[Number(event.target.value) - 1]?.message_id ?? '' }, true)}
        />
      </div>
      {!isWhole && (
        <p className="quiet">Only the first {counted(messages.length, 'message', 'messages')} can be chosen.</p>
      )}
      <BlackboardAt id={id} message={here.message_id} before={messages[place - 1]?.message_id} />
    </>
  );
}

interface AtProps {
  readonly id: string;
  readonly message: string;
  /** The previous message of the run; absent for the first one. */
  readonly before: string | undefined;
}

/** The blackboard after a message, rebuilt by a replay, with the changed lines marked. */
function BlackboardAt({ id, message, before }: AtProps) {
  const read = useQuery({
    queryKey: ['blackboard', id, message, before],
    queryFn: async () => {
      const [after, earlier] = await Promise.all([
        boardAfter(id, message),
        before === undefined ? null : boardAfter(id, before),
      ]);
      return { text: after === null ? null : jsonText(after), textBefore: jsonText(earlier ?? {}) };
    },
    staleTime: Number.POSITIVE_INFINITY,
    // The previous one stays while the next one is read, so that the page does not jump.
    placeholderData: (last) => last,
  });
  if (read.error !== null)
    return <p className="quiet">The blackboard at a message is not available: {plainText(failureText(read.error))}</p>;
  if (read.data === undefined) return <ReadState of={read} what="the blackboard" />;
  const { text, textBefore } = read.data;
  return (
    <section aria-label="Blackboard after the message" aria-busy={read.isPlaceholderData}>
      <h2>Blackboard after the message</h2>
      {text === null && <p className="quiet">It is larger than 1 MiB and not shown.</p>}
      {text !== null && text === textBefore && (
        <>
          <p className="quiet">The message did not change it.</p>
          <LongText text={text} name="blackboard" />
        </>
      )}
      {text !== null && text !== textBefore && (
        <Differences before={textBefore} after={text} label="Blackboard, with the lines that the message changed" />
      )}
    </section>
  );
}

/** The blackboard in the state after a message; null when the state is too large to be shown. */
async function boardAfter(id: string, message: string): Promise<unknown> {
  const { state, state_omitted: isOmitted } = await api.actors.getState({ kind: 'workflow', id, at: message });
  if (isOmitted === true) return null;
  return isObject(state) && isObject(state.blackboard) ? state.blackboard : {};
}
