import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from '@xyflow/react';
import ELK from 'elkjs/lib/elk-api.js';
import { useEffect, useState } from 'react';
import { edgeKey, type StateGraph, type Way } from '../api/state-graph.ts';
import { plainLine } from './format.ts';
import { Empty, Loading } from './notice.tsx';
import { Status } from './status.tsx';

const elk = new ELK({ workerFactory: () => new Worker(GRAPH_WORKER_URL) });

const NODE_PX = { width: 208, height: 52 };

type StateNode = Node<
  { readonly name: string; readonly kind: string; readonly status: string | null; readonly visits: number },
  'state'
>;

interface GraphViewProps {
  readonly graph: StateGraph;
  readonly label: string;
  /** The path of a run; absent: only the states are shown. */
  readonly way?: Way;
}

/** A workflow as a graph: states as boxes in layers, transitions as arrows; the way of a run is drawn in the accent. */
export function GraphView({ graph, way, label }: GraphViewProps) {
  const places = usePlaces(graph);
  if (graph.states.length === 0) return <Empty title="There is no state to show." />;
  if (places === null) return <Loading what="the layout" />;
  const nodes: StateNode[] = graph.states.map(({ name, kind }) => ({
    id: name,
    type: 'state',
    position: places.get(name) ?? { x: 0, y: 0 },
    ...NODE_PX,
    data: { name, kind, status: statusOf(name, way), visits: way?.visits.get(name) ?? 0 },
  }));
  return (
    <div className="graph" role="region" aria-label={label}>
      <ReactFlow
        nodes={nodes}
        edges={edgesOf(graph, way)}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function statusOf(name: string, way: Way | undefined): string | null {
  if (way === undefined) return null;
  if (way.current === name) return 'current';
  if (way.failed.has(name)) return 'failed';
  return way.visits.has(name) ? 'completed' : 'not reached';
}

function edgesOf({ edges }: StateGraph, way: Way | undefined): Edge[] {
  return edges.map((edge, index) => {
    const times = way?.taken.get(edgeKey(edge)) ?? 0;
    const isTaken = times > 0;
    return {
      id: `${index} ${edgeKey(edge)}`,
      source: edge.from,
      target: edge.to,
      label: `${plainLine(edge.condition, 40)}${times > 1 ? ` ×${times}` : ''}`,
      className: isTaken ? 'taken' : '',
      zIndex: isTaken ? 1 : 0,
      markerEnd: { type: MarkerType.ArrowClosed },
    };
  });
}

function StateBox({ data: { name, kind, status, visits } }: NodeProps<StateNode>) {
  return (
    <div
      className={`state-box${status === 'current' ? ' here' : ''}${status === 'not reached' ? ' unseen-state' : ''}`}
    >
      <Handle type="target" position={Position.Top} />
      <b className="ellipsis">{plainLine(name, 40)}</b>
      <span className="quiet">
        {plainLine(kind, 30)} {visits > 1 && `×${visits}`}
      </span>
      {status !== null && <Status status={status} />}
      <Handle type="source" position={Position.Bottom} />
    </div>
  );
}

const NODE_TYPES = { state: StateBox };

/** Positions of the states; null while a worker computes them. */
function usePlaces(graph: StateGraph): ReadonlyMap<string, { readonly x: number; readonly y: number }> | null {
  const [places, setPlaces] = useState<ReadonlyMap<string, { readonly x: number; readonly y: number }> | null>(null);
  useEffect(() => {
    let isOld = false;
    elk
      .layout({
        id: 'root',
        layoutOptions: {
          'elk.algorithm': 'layered',
          'elk.direction': 'DOWN',
          'elk.layered.spacing.nodeNodeBetweenLayers': '56',
          'elk.spacing.nodeNode': '72',
        },
        children: graph.states.map(({ name }) => ({ id: name, ...NODE_PX })),
        edges: graph.edges.map(({ from, to }, index) => ({ id: String(index), sources: [from], targets: [to] })),
      })
      .then(
        ({ children }) => {
          if (!isOld) setPlaces(new Map(children?.map(({ id, x = 0, y = 0 }) => [id, { x, y }])));
        },
        // A graph without a layout is shown in a column.
        () => setPlaces(new Map(graph.states.map(({ name }, at) => [name, { x: 0, y: at * 100 }]))),
      );
    return () => {
      isOld = true;
    };
  }, [graph]);
  return places;
}
