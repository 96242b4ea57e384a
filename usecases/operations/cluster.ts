import { z } from 'zod';
import { planFleet } from '../fleet-plan.ts';
import { operation } from './operation.ts';
import { joiningNodes, NodeId, PartitionLoads, PlanAnswer, TakeoverAnswer } from './schemas/cluster.ts';
import { limitField, list, nextPageField, pageAsked, pageFields, pageTokenField, uuid } from './schemas/fields.ts';
import { several } from './schemas/runs.ts';

const MOST_LISTED = 500;

/** Most hypothetical nodes of a plan. */
const MOST_JOINING = 1_000;

/** Operations on the fleet as a whole. Those on single nodes are in transport/rest/routes/cluster.ts. */
export const CLUSTER_OPERATIONS = [
  operation({
    tag: 'cluster',
    needs: ['cluster', 'runs'],
    name: 'cluster.plan',
    summary: 'Show what would happen if nodes left or joined; changes nothing',
    description:
      'Uses the assignment that the nodes compute, for the present members. Joining nodes get made-up ids: which ' +
      'partitions move to a real node depends on its id, their number hardly does. Runs are those of the caller’s tenant.',
    access: 'inspect',
    input: {
      query: z
        .object({
          without: several(NodeId).describe('Nodes that leave; may be repeated.'),
          join: several(joiningNodes).describe(
            'Nodes that join, as `tags=gpu,count=2`; may be repeated. Keys: tags (several: `tags=gpu,a100`), count, role (worker, hybrid, controller), weight.',
          ),
        })
        .refine(({ join = [] }) => join.reduce((sum, { count }) => sum + count, 0) <= MOST_JOINING, {
          path: ['join'],
          error: `expected at most ${MOST_JOINING} nodes together`,
        }),
    },
    answer: PlanAnswer,
    rest: { method: 'GET', path: '/v1/cluster/plan', style: 'coded' },
    commands: ['cluster plan'],
    handle: (ports, { identity, query: { without = [], join = [] } }) => planFleet(ports, identity, { without, join }),
  }),
  operation({
    tag: 'cluster',
    needs: ['cluster'],
    name: 'cluster.partitions',
    summary: 'List the partitions with their nodes and loads',
    access: 'inspect',
    input: {},
    answer: PartitionLoads,
    rest: { method: 'GET', path: '/v1/cluster/partitions', style: 'coded' },
    commands: ['cluster partitions'],
    handle: async ({ cluster }) => ({ partitions: await cluster.partitions() }),
  }),
  operation({
    tag: 'cluster',
    needs: ['cluster'],
    name: 'cluster.takeovers',
    summary: 'List which nodes took over which partitions, when and why; newest first',
    description: 'The fleet keeps the newest 5,000 records.',
    access: 'inspect',
    input: {
      query: z.object({
        node: NodeId.optional().describe('Only what this node took over.'),
        limit: limitField(50, MOST_LISTED),
        page_token: pageTokenField,
      }),
    },
    answer: z.object({ takeovers: z.array(TakeoverAnswer), ...nextPageField }),
    rest: { method: 'GET', path: '/v1/cluster/takeovers', style: 'coded' },
    commands: ['cluster takeovers'],
    async handle({ cluster }, { query: { node, limit, page_token } }) {
      const { items, ...next } = await cluster.takeovers(node, {
        limit: Math.min(limit, MOST_LISTED),
        pageToken: page_token,
      });
      return { takeovers: items, ...next };
    },
  }),
];

const MOST_JOIN_TOKENS_LISTED = 1_000;

const DAY_SECONDS = 86_400;

const JoinTokenIdParams = z.object({ id: uuid('invalid join token id') });

const texts = z.array(z.string().min(1).max(300)).max(32);

const roles = z.array(z.enum(['WORKER', 'HYBRID']));

const NewJoinTokenBody = z.strictObject({
  names: texts.optional().describe('Node ids, also with `*` at the end; default any.'),
  tags: texts.optional().describe('Tags that the node may register with; default: none.'),
  addresses: texts
    .optional()
    .describe(
      'Addresses at which the node may be reached: IP addresses, networks, host names; default: the address it calls from.',
    ),
  roles: roles.min(1).optional().describe('Default: WORKER.'),
  uses: z.number().int().min(1).max(1_000).optional().describe('Number of nodes that may join with it; default 1.'),
  expires_in: z
    .number()
    .int()
    .min(60)
    .max(30 * DAY_SECONDS)
    .optional()
    .describe('Seconds from now; default one hour.'),
});

const JoinTokensQuery = z.object(pageFields(100, MOST_JOIN_TOKENS_LISTED));

const JoinTokenUse = z.object({ node_id: z.string(), from: z.string(), at: z.string() }).meta({ id: 'JoinTokenUse' });

const JoinTokenAnswer = z
  .object({
    id: z.string(),
    names: list(z.string()),
    tags: list(z.string()),
    addresses: list(z.string()),
    roles: roles.readonly(),
    uses: z.number().int(),
    used_by: list(JoinTokenUse),
    refusals: z.number().int().describe('Number of nodes refused with it.'),
    status: z.enum(['active', 'used_up', 'expired', 'revoked']),
    created_at: z.string(),
    created_by: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'JoinToken' });

const MadeJoinTokenAnswer = JoinTokenAnswer.extend({
  token: z.string().describe('Returned in this answer only; the node stores a hash.'),
});

const JoinTokenListAnswer = z.object({ join_tokens: z.array(JoinTokenAnswer), ...nextPageField });

const joining = { tag: 'cluster', needs: ['cluster', 'joinTokens'] } as const;

const joinTokensPath = '/v1/cluster/join-tokens';

/** Operations on the tokens with which new nodes join the fleet. */
export const JOIN_TOKEN_OPERATIONS = [
  operation({
    ...joining,
    name: 'join_tokens.create',
    summary: 'Create a join token',
    description: 'By default one node may join with it, within an hour. The token is shown in this answer only.',
    access: 'operate',
    input: { body: NewJoinTokenBody },
    answer: MadeJoinTokenAnswer,
    rest: { method: 'POST', path: joinTokensPath, style: 'coded' },
    commands: ['node token create'],
    handle: ({ joinTokens }, { identity, body: { expires_in, ...asked } }) =>
      joinTokens.create(identity, { ...asked, expiresInSeconds: expires_in }),
  }),
  operation({
    ...joining,
    name: 'join_tokens.list',
    summary: 'List join tokens and who used them, the newest first',
    access: 'inspect',
    input: { query: JoinTokensQuery },
    answer: JoinTokenListAnswer,
    rest: { method: 'GET', path: joinTokensPath, style: 'coded' },
    commands: ['node token list'],
    async handle({ joinTokens }, { query }) {
      const { items, ...next } = await joinTokens.list(pageAsked(query, MOST_JOIN_TOKENS_LISTED));
      return { join_tokens: items, ...next };
    },
  }),
  operation({
    ...joining,
    name: 'join_tokens.revoke',
    summary: 'Revoke a join token',
    description: 'No further node can join with it, and nodes that joined with it get no new node token.',
    access: 'operate',
    input: { params: JoinTokenIdParams },
    answer: JoinTokenAnswer,
    rest: { method: 'DELETE', path: `${joinTokensPath}/:id`, style: 'coded', also: [404] },
    commands: ['node token revoke'],
    handle: ({ joinTokens }, { identity, params }) => joinTokens.revoke(identity, params.id),
  }),
];
