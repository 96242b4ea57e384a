/**
 * Lists and logs (suite `management`) on a MongoDB-wire server whose indexes give an order, beside SQLite: the server of
 * decision 0020, built from the given sources, or the one that `MONGODB_URI` names. Downloads nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '../test/support/free-port.ts';
import { ServerProcess } from '../test/support/server-process.ts';
import { programAt } from './management/stores.ts';
import { debianPrograms, startPostgres } from './workflows/postgres-server.ts';

const USAGE = `Measures lists and logs on a MongoDB-wire server with indexes, beside SQLite.

  npm run lists -- --sources PATH [--postgres DIR] [--quick]
  MONGODB_URI=URI npm run lists [-- --quick]

  --sources PATH   sources of FerretDB 2, a folder or a tar archive (or SVC_BENCH_SOURCES=PATH). Go builds them with what
                   they hold and what is in its module cache.
  --postgres DIR   programs of a PostgreSQL in which DocumentDB is installed, with its extended RUM (or
                   SVC_BENCH_POSTGRES=DIR); Debian's newest when omitted
  --quick          one short round, to see that everything runs
  --help           this text

MONGODB_URI names a server that runs, MongoDB itself for one: a database is made there and dropped afterwards.
With neither, SQLite is measured alone. Nothing is downloaded; servers listen on loopback, their data is removed.
`;
const OMITTED = `OMITTED: MongoDB-wire servers. Neither --sources (SVC_BENCH_SOURCES) nor MONGODB_URI is given, so these figures
are of SQLite alone and say nothing of MongoDB. See npm run lists -- --help.`;

const MAIN = join('cmd', 'ferretdb');
const EXTENSIONS = ['documentdb', 'documentdb_extended_rum'];
/** Without these DocumentDB's indexes find documents and give no order (decision 0020). */
const ORDERED_INDEXES = [
  'shared_preload_libraries=pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum',
  'cron.database_name=postgres',
  'cron.use_background_workers=on',
  'documentdb.rum_library_load_option=require_documentdb_extended_rum',
  'documentdb.alternate_index_handler_name=extended_rum',
  'documentdb.defaultUseCompositeOpClass=on',
  'documentdb.enableIndexOrderbyPushdown=on',
  'enable_sort=off',
];
const BENCH = import.meta.dirname;
const BUILD_WITHIN_MS = 900_000;
const START_WITHIN_MS = 60_000;
const LOG_SHOWN = 2_000;

const run = promisify(execFile);

interface Asked {
  readonly sources: string | undefined;
  readonly postgres: string | undefined;
  readonly uri: string | undefined;
  readonly isQuick: boolean;
}

/** Null when only the usage is wanted. Throws when the arguments contradict each other. */
function asked(args: readonly string[]): Asked | null {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { sources: text, postgres: text, quick: flag, help: flag };
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const { MONGODB_URI: uri, SVC_BENCH_SOURCES, SVC_BENCH_POSTGRES } = process.env;
  const sources = values.sources ?? SVC_BENCH_SOURCES;
  if (sources !== undefined && uri !== undefined)
    throw new Error('both sources and MONGODB_URI are given: unset one, a run measures one server');
  return { sources, postgres: values.postgres ?? SVC_BENCH_POSTGRES, uri, isQuick: values.quick };
}

/** Answers the exit code of the suite. */
async function measure({ sources, postgres, uri, isQuick }: Asked, stop: AbortSignal): Promise<number> {
  if (uri !== undefined) {
    console.error(`measures ${await programAt(uri)}, which MONGODB_URI names`);
    return suite({}, isQuick, stop);
  }
  if (sources !== undefined) return onOwnServer(sources, postgres, isQuick, stop);
  console.error(OMITTED);
  const code = await suite({ SVC_BENCH_STORE: 'SQLite' }, isQuick, stop);
  // Printed again at the end, since the figures have scrolled the first one away.
  console.error(OMITTED);
  return code;
}

async function suite(env: NodeJS.ProcessEnv, isQuick: boolean, signal: AbortSignal): Promise<number> {
  const args = ['--expose-gc', join(BENCH, 'run.ts'), 'management', ...(isQuick ? ['--quick'] : [])];
  const where = { cwd: join(BENCH, '..'), env: { ...process.env, ...env } };
  const child = spawn(process.execPath, args, { ...where, stdio: 'inherit', signal });
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}

async function onOwnServer(
  sources: string,
  postgres: string | undefined,
  isQuick: boolean,
  stop: AbortSignal,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-ferretdb-'));
  try {
    const program = await built(await unpacked(sources, directory), directory, stop);
    const programs = postgres ?? debianPrograms();
    await checkExtensions(programs);
    const database = await startPostgres({ programs, settings: ORDERED_INDEXES });
    try {
      const sql = EXTENSIONS.flatMap((name) => ['-c', `CREATE EXTENSION IF NOT EXISTS ${name} CASCADE`]);
      await run(join(programs, 'psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', database.url, ...sql]);
      const server = await startFerret(program, database.url);
      try {
        console.error(`measures ${await programAt(server.uri)} over ${database.version}`);
        return await suite({ MONGODB_URI: server.uri }, isQuick, stop);
      } finally {
        await server.stop();
      }
    } finally {
      await database.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The folder with the sources' `go.mod`: of an archive the top, or the only folder in it. */
async function unpacked(given: string, directory: string): Promise<string> {
  const path = resolve(given);
  if (!existsSync(path)) throw new Error(`no sources: there is no file or folder ${path}`);
  let folder = path;
  if (!statSync(path).isDirectory()) {
    folder = join(directory, 'sources');
    await mkdir(folder);
    await run('tar', ['-xf', path, '-C', folder]).catch(() => {
      throw new Error(`no sources: ${path} is neither a folder nor an archive that tar reads`);
    });
    const [only, ...others] = await readdir(folder);
    if (only !== undefined && others.length === 0) folder = join(folder, only);
  }
  for (const part of ['go.mod', MAIN]) {
    if (!existsSync(join(folder, part))) throw new Error(`no sources of FerretDB 2: there is no ${part} in ${path}`);
  }
  return folder;
}

/** Path of the program. Go may fetch neither modules nor a toolchain. */
async function built(folder: string, directory: string, signal: AbortSignal): Promise<string> {
  const program = join(directory, 'ferretdb');
  const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOWORK: 'off' };
  const args = ['build', '-trimpath', '-buildvcs=false', '-o', program, `./${MAIN}`];
  try {
    await run('go', args, { cwd: folder, env, timeout: BUILD_WITHIN_MS, signal });
  } catch (error) {
    throw new Error(`the sources do not build: ${reasonOf(error)}`);
  }
  return program;
}

async function checkExtensions(programs: string): Promise<void> {
  const { stdout } = await run(join(programs, 'pg_config'), ['--sharedir']).catch(() => {
    throw new Error(`no PostgreSQL: there is no pg_config in ${programs}; --postgres names the folder of its programs`);
  });
  for (const name of EXTENSIONS) {
    if (existsSync(join(stdout.trim(), 'extension', `${name}.control`))) continue;
    throw new Error(`the PostgreSQL in ${programs} lacks the extension ${name}: install DocumentDB, or see --postgres`);
  }
}

/** FerretDB 2 on a free loopback port, without access control, telemetry, debug port or state of its own. */
async function startFerret(program: string, postgresUrl: string) {
  const port = await freePort();
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME, DO_NOT_TRACK: '1', FERRETDB_TELEMETRY: 'disable' },
    ...{ FERRETDB_LISTEN_ADDR: `127.0.0.1:${port}`, FERRETDB_DEBUG_ADDR: '-', FERRETDB_STATE_DIR: '-' },
    ...{ FERRETDB_POSTGRESQL_URL: postgresUrl, FERRETDB_AUTH: 'false' },
  };
  const server = new ServerProcess('FerretDB', program, [], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const answers = (): Promise<boolean> =>
    programAt(uri).then(
      () => true,
      () => false,
    );
  await server.serves(answers, START_WITHIN_MS);
  return { uri, stop: () => server.end() };
}

/** Output of a program that failed, else why it could not be run. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = 'stderr' in error ? String(error.stderr).trim() : '';
  return said === '' ? error.message : said.slice(-LOG_SHOWN);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
let wanted: Asked | null = null;
try {
  wanted = asked(process.argv.slice(2));
  if (wanted === null) console.log(USAGE);
} catch (error) {
  console.error(`${reasonOf(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (wanted !== null) {
  process.exitCode = await measure(wanted, stop.signal).catch((error: unknown) => {
    console.error(reasonOf(error));
    return 1;
  });
}
