/** Set by build.ts: addresses of the workers, whose names have a hash. */
declare const TRACE_WORKER_URL: string;
declare const GRAPH_WORKER_URL: string;

/** Only the bundled form of the worker has types of its own. */
declare module 'elkjs/lib/elk-worker.min.js';
