import { z } from 'zod';
import { planFleet } from '../fleet-plan.ts';
import { operation } from './operation.ts';
import { joiningNodes, NodeId, PartitionLoads, PlanAnswer, TakeoverAnswer } from './schemas/cluster.ts';
import { limitField, nextPageField, pageTokenField } from './schemas/fields.ts';
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
      'Uses the assignment that the nodes compute, over the members of now. Joining nodes get made-up ids: which ' +
      'partitions move to a real node depends on its id, their number hardly does. Runs are those of the caller’s tenant.',
    access: 'inspect',
    input: {
      query: z
        .object({
          without: several(NodeId).describe('Nodes that leave; may be there several times.'),
          join: several(joiningNodes).describe(
            'Nodes that join, as `tags=gpu,count=2`; may be there several times. Keys: tags (several: `tags=gpu,a100`), count, role (worker, hybrid, controller), weight.',
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
