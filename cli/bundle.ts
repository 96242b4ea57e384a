import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Loader, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

interface BundleOptions {
  /** Source files that are started or imported by name; each keeps its place. */
  readonly entries: readonly string[];
  /** Directory for the files. It may be moved afterwards: no file has its path. */
  readonly into: string;
  /** Version of Node.js whose syntax is written, as `22.15`. */
  readonly node: string;
  /** Whether the packages that the sources import are put into the files, too; otherwise they are imported as before. */
  readonly packages: boolean;
}

/**
 * Writes programs as few files instead of one for each module, since most of a start is finding and reading modules.
 * Code that two entries share, and code that is loaded on first use, gets files of its own in `chunks`. A
 * comment before each module says where it comes from, for readers of stack traces.
 */
export async function bundle({ entries, into, node, packages }: BundleOptions): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...entries],
    outbase: ROOT,
    outdir: into,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: `node${node}`,
    // Packages compare errors by the names of their classes; errors of the product set their names themselves.
    keepNames: packages,
    ...(packages ? PACKAGES_TOO : { packages: 'external' as const }),
    plugins: [modules(packages)],
    logLevel: 'error',
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const isProgram = text.startsWith('#!');
    writeFileSync(path, withPlaces(inAscii(text), relative(dirname(path), into)), { mode: isProgram ? 0o755 : 0o644 });
  }
}

const COMMENT_LINE = /^\s*(?:\/\*|\*|\/\/).*$/gm;
export const NOT_ASCII = /[^\p{ASCII}]/gu;

/** Replaces characters beyond ASCII in comments, since V8 stores a file that has one with two bytes a character. */
export const inAscii = (text: string): string =>
  text.replaceAll(COMMENT_LINE, (line) => line.replaceAll(NOT_ASCII, '?'));

/** Modules of the product that it runs as threads: it starts them by their paths. */
export const threadModules = (): string[] =>
  globSync('{app,actors,catalog,cluster,effects,manifests,runtime,security,tools,transport,usecases}/**/*.ts', {
    cwd: ROOT,
  }).filter((file) => THREAD.test(readFileSync(join(ROOT, file), 'utf8')));
const THREAD = /^import .*\bparentPort\b.* from 'node:worker_threads'/m;

/** Packages are resolved as Node.js resolves them. Those of `external` have parts that are compiled for one machine. */
const PACKAGES_TOO = {
  conditions: [],
  mainFields: ['main'],
  // Undici is not an ES module, so an import of it in a bundle would find no names.
  external: ['undici', 'ssh2', 're2-wasm', 'mongodb-client-encryption', 'kerberos', 'snappy', 'socks', 'aws4'],
  // For packages that are not ES modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
};

/** Loads our modules and those of packages so that each finds the files beside it. */
export function modules(packages: boolean): Plugin {
  return {
    name: 'modules',
    setup({ onLoad }) {
      onLoad({ filter: /\.(ts|m?js|cjs)$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        const isOurs = path.endsWith('.ts') && !path.includes('/node_modules/');
        const loader: Loader = isOurs ? 'ts' : 'js';
        return { contents: isOurs ? ownModule(path, source, packages) : packageModule(path, source), loader };
      });
    },
  };
}

/** In a bundle a package that is not an ES module has no named exports, only the whole export. */
const PACKAGE_IMPORT = /(?<!typeof )\bimport\(('[^'.][^']*')\)/g;
const WITH_NAMES = 'import($1).then((loaded) => ({ ...loaded.default, ...loaded }))';
const STACKS = join(ROOT, 'runtime', 'kit', 'disposable-stacks.ts');

/** A package that is loaded during a call. */
const PACKAGE_LOAD = /\bload\(('[^'.][^']*')\)/g;

function ownModule(path: string, source: string, packages: boolean): string {
  const place = relative(ROOT, path).replace(/\.ts$/, '.js');
  const text = (packages ? source.replaceAll(PACKAGE_LOAD, 'require($1)') : source)
    .replaceAll(PACKAGE_IMPORT, WITH_NAMES)
    .replaceAll('import.meta.main', `(process.argv[1] === __place('${place}').filename)`)
    .replaceAll(/\bimport\.meta\b(?!\.resolve)/g, `__place('${place}')`);
  return path !== STACKS && text.includes('DisposableStack') ? `import '${STACKS}';${text}` : text;
}

function packageModule(path: string, source: string): string {
  if (!/import\.meta|__dirname|__filename/.test(source)) return source;
  const [filename, directory, url] = [path, dirname(path), pathToFileURL(path).href].map((one) => JSON.stringify(one));
  return source
    .replaceAll(/\bimport\.meta\b(?!\.resolve)/g, `({ filename: ${filename}, dirname: ${directory}, url: ${url} })`)
    .replaceAll(/(?<![.\w])__dirname\b/g, `${directory}`)
    .replaceAll(/(?<![.\w])__filename\b/g, `${filename}`);
}

/**
 * A file with `__place`, which gives the `import.meta` of a module at its own path, next to the files that it reads.
 * @param up from the file to the directory of the bundle
 */
function withPlaces(text: string, up: string): string {
  if (!text.includes('__place(')) return text;
  const place = `${PLACE_IMPORTS} ${placeOf(`import.meta.dirname, '${up}'`)}`;
  const [first = '', ...rest] = text.split('\n');
  return first.startsWith('#!') ? [first, place, ...rest].join('\n') : `${place}\n${text}`;
}

const PLACE_IMPORTS = `import { dirname as __directory, join as __join } from 'node:path'; import { pathToFileURL as __url } from 'node:url';`;

/** @param root JavaScript for the directory of the bundle */
export const placeOf = (root: string): string =>
  [
    `const __place = (name) => { const filename = __join(${root}, name);`,
    `return { filename, dirname: __directory(filename), url: __url(filename).href }; };`,
  ].join(' ');
