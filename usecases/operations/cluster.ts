import { z } from 'zod';
import { planFleet } from '../fleet-plan.ts';
import { operation } from './operation.ts';
import { joiningNodes, NodeId, PartitionLoads, PlanAnswer } from './schemas/cluster.ts';
import { several } from './schemas/runs.ts';

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
];
