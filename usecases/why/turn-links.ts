import type { Address } from '../../runtime/address.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import { counted } from '../../runtime/kit/counted.ts';
import { tagsOfPool } from '../../runtime/locator.ts';
import type { MemberStatus } from '../ports/cluster.ts';
import { isoTime } from '../traces/reader-view.ts';
import { type LinkOf, timeText } from './links.ts';
import type { Reading } from './reading.ts';

/** Ends the chain when something keeps an actor from its next turn: a message that fails, or no node that serves it. */
export async function turnLinks(
  reading: Reading,
  address: Address,
  snapshot: Pick<ActorSnapshot, 'stuck'> | null,
): Promise<void> {
  const stuck = snapshot?.stuck ?? null;
  if (stuck !== null) reading.end(stuckLink(address, stuck));
  await nodeLinks(reading, await reading.ask('actors', () => reading.lookups.poolOf(address)));
}

const stuckLink = (
  address: Address,
  { messageType, attempts, error }: NonNullable<ActorSnapshot['stuck']>,
): LinkOf<'stuck'> => ({
  kind: 'stuck',
  id: address,
  until: null,
  reason: `message ${messageType}, which keeps failing (${counted(attempts, 'attempt')}): ${error}`,
  message_type: messageType,
  attempts,
  error,
});

const MOST_NEAR = 5;

/** Ends the chain when no live node serves a pool. The last cause names the node that lacks least. */
export async function nodeLinks(reading: Reading, pool: string): Promise<void> {
  const { client, fleet } = reading.lookups;
  if (await reading.ask('actors', () => client.isServed(pool))) return;
  const members = await reading.ask('actors', () => fleet.members());
  const tags = tagsOfPool(pool);
  const role = pool === 'system' ? 'controller' : 'worker';
  const lackOf = (member: MemberStatus): readonly string[] =>
    tags.filter((tag) => member.info?.tags.includes(tag) !== true);
  const inRole = ({ info }: MemberStatus): boolean => info?.role === role || info?.role === 'hybrid';
  const near = members
    .map((member) => ({ member, lacks: lackOf(member) }))
    .sort((a, b) => a.lacks.length - b.lacks.length)
    .slice(0, MOST_NEAR)
    .map(({ member, lacks }) => {
      const reason = lackReason(member, lacks, inRole(member));
      return { node_id: member.node_id, lacks, reason: `node ${member.node_id} ${reason}` };
    });
  const whom = tags.length > 0 ? `a node with tags ${tags.join(', ')}` : `a node with role ${role} or hybrid`;
  const draining = members.find((one) => one.info?.draining === true && lackOf(one).length === 0 && inRole(one));
  const unknown = members.find(({ info }) => info === null);
  const isLast = draining === undefined && unknown === undefined;
  const nearest = near.map(({ reason }) => reason).join(', ');
  const reason = isLast && nearest !== '' ? `${whom} (${nearest})` : whom;
  const node: LinkOf<'node'> = { kind: 'node', id: null, until: null, reason, tags, nearly: near };
  if (isLast) reading.end(node);
  reading.add(node);
  if (draining !== undefined) {
    const why = `node ${draining.node_id} could serve it, but drains`;
    reading.end({ kind: 'draining', id: draining.node_id, until: null, reason: why, tags });
  }
  const id = unknown?.node_id ?? null;
  const other = `node ${id} runs a version that this node cannot read`;
  reading.end({ kind: 'version', id, until: null, reason: other, of: 'node' });
}

function lackReason({ info }: MemberStatus, lacks: readonly string[], isInRole: boolean): string {
  if (info === null) return 'runs a version that this node cannot read';
  if (!isInRole) return `has role ${info.role}`;
  if (lacks.length > 0) return `lacks ${lacks.join(', ')}`;
  return info.draining ? 'drains' : 'may serve it in a moment';
}

/** A message is handled within milliseconds: one that waits longer waits for its node. */
const WAITS_MS = 1_000;

/** Ends the chain when messages of the actor, or before it in its partition, are not handled. */
export async function mailboxLink(reading: Reading, address: Address): Promise<void> {
  const { client, fleet } = reading.lookups;
  // Without the depth of the partition: other tenants share it.
  const { oldestAt, depth } = await reading.ask('actors', () => client.mailbox(address));
  if (oldestAt === null || reading.now - oldestAt < WAITS_MS) return;
  const node = await reading.ask('actors', () => fleet.servedBy(address));
  const oldest_at = isoTime(oldestAt);
  const messages = depth === 0 ? 'messages' : counted(depth, 'message');
  const waits = `${messages} in its mailbox, the oldest since ${timeText(oldest_at)}`;
  const by = node === null ? 'which no node handles' : `which node ${node} has not handled`;
  reading.end({
    kind: 'mailbox',
    id: address,
    until: null,
    reason: `${waits}, ${by}`,
    depth,
    oldest_at,
    node,
  });
}
