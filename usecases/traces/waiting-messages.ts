import { type Address, addressOf } from '../../runtime/address.ts';
import type { WaitingMessage, WaitingPlace, WaitReason } from '../../runtime/calls/waiting-messages.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { readToken, tokenOf } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, seesAll } from '../../runtime/identity.ts';
import type { MessageOrigin } from '../../runtime/message.ts';
import { isoTime } from './reader-view.ts';
import { Sight, type SightParts } from './sight.ts';

/** A message that waits for an actor, as readers get it. */
interface ShownWaitingMessage {
  readonly message_id: string;
  readonly cause_id: string | null;
  readonly trace_id: string;
  readonly from: Address | null;
  readonly type: string;
  readonly origin: MessageOrigin;
  readonly reason: WaitReason;
  readonly at: string | null;
}

interface ShownMailbox {
  readonly address: Address;
  readonly messages: readonly ShownWaitingMessage[];
  readonly next_page_token?: string;
}

export interface ActorMailboxApi {
  /**
   * Lists the messages that wait for an actor, oldest first. Also for an actor without a state, whose first message waits. Throws
   * `not_found` for what the viewer may not see, and when there is neither an actor nor a message.
   */
  list(
    viewer: Identity,
    kind: string,
    id: string,
    page: { readonly limit: number; readonly pageToken?: string | undefined },
  ): Promise<ShownMailbox>;
}

interface ActorMailboxParts extends SightParts {
  readonly client: Pick<ActorClient, 'read' | 'waiting'>;
}

export function createActorMailboxApi(parts: ActorMailboxParts): ActorMailboxApi {
  return {
    async list(viewer, kind, id, { limit, pageToken }) {
      const sight = new Sight(parts, viewer);
      const address = addressOf(kind, sight.tenant, id);
      const known = parts.registry.definitionOf(address) !== undefined;
      if (!known || !(await sight.mayLookFor(address))) throw notFound();
      const from = placeIn(readToken(listName(address), { pageToken }));
      const { messages, next } = await parts.client.waiting(address, { limit, from });
      if (messages.length === 0 && from === undefined && (await parts.client.read(address)) === null) throw notFound();
      const shown = await Promise.all(messages.map(({ message }) => seesAll(viewer) || sight.seesMessage(message)));
      return {
        address,
        messages: messages.filter((_one, index) => shown[index]).map(waitingRow),
        ...(next === null ? {} : { next_page_token: tokenOf(listName(address), [next.of, next.after]) }),
      };
    },
  };
}

const notFound = (): SvcError => new SvcError('not_found', 'actor not found');

const listName = (address: Address) => ['waiting messages', address];

function placeIn(position: readonly unknown[] | undefined): WaitingPlace | undefined {
  if (position === undefined) return undefined;
  const [of, after] = position;
  const isPlace = of === 'record' || of === 'postponed' || of === 'log';
  if (isPlace && typeof after === 'number' && Number.isSafeInteger(after) && after >= 0) return { of, after };
  throw new SvcError('invalid_argument', 'page_token: expected the next_page_token of an answer about this mailbox');
}

function waitingRow({ message, reason, at }: WaitingMessage): ShownWaitingMessage {
  const { id, cause, trace, from, type, origin } = message;
  return {
    message_id: id,
    cause_id: cause,
    trace_id: trace,
    from,
    type,
    origin,
    reason,
    at: at === null ? null : isoTime(at),
  };
}
