import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { inAscii, modules, NOT_ASCII, placeOf } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');

interface ScriptOptions {
  /** Source file of the program. */
  readonly entry: string;
  /** Path of the script, in the directory of the bundle. */
  readonly file: string;
  /** Version of Node.js whose syntax is written, as `22.15`. */
  readonly node: string;
  /** Packages in the script besides those that every start loads. */
  readonly morePackages?: readonly string[];
}

/**
 * Packages that every start of a node loads: they are in the script, with what they depend on. To find and read their 400 modules
 * takes a sixth of a start, and only functions of the script are compiled before they are called (decision 0070).
 */
const START_PACKAGES: readonly string[] = [
  '@bufbuild/protobuf',
  '@fastify/sse',
  '@grpc/grpc-js',
  '@opentelemetry/api',
  'canonicalize',
  'fastify',
  'fastify-type-provider-zod',
  'ipaddr.js',
  'pino',
  'prom-client',
  'semver',
  'zod',
];

/**
 * Writes a program as one script that starts nothing by itself (start/node-program.ts): an expression that is a function, which gets
 * `module`, `require`, the directory of the bundle and `import.meta.resolve`. Packages that not every start loads are loaded by
 * `require`.
 */
export async function bundleScript({ entry, file, node, morePackages = [] }: ScriptOptions): Promise<void> {
  const own = await textOf(node, {
    entryPoints: [entry],
    packages: 'external',
    define: { 'import.meta.resolve': '__resolve' },
    // `import()` becomes `require()`, so that no package is loaded twice, as an ES module and as the other kind.
    supported: { 'dynamic-import': false },
    plugins: [modules(false), ownImports],
  });
  const specifiers = [...own.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, specifier = '']) => specifier);
  const inScript = new Set([...START_PACKAGES, ...morePackages]);
  const taken = [...new Set(specifiers)].filter((specifier) => inScript.has(packageOf(specifier)));
  const script = [
    `(function (module, require, __dirname, __resolve) {${PLACE_REQUIRES} ${placeOf('__dirname')} ${PLACE_OF_PACKAGE}`,
    'const __packages = { exports: {} };',
    `(function (module) {${await packagesText(node, taken)}})(__packages);`,
    'const __required = (name) => __packages.exports[name]?.() ?? require(name);',
    `(function (require) {\n${inAscii(own)}\n})(__required);`,
    '})',
  ].join('\n');
  if (script.search(NOT_ASCII) >= 0) throw new Error(`${file}: a script that is read as Latin-1 has other characters`);
  writeFileSync(file, script);
}

/** JavaScript that exports a function for each specifier, which loads that module at its first call. */
const packagesText = (node: string, specifiers: readonly string[]): Promise<string> =>
  textOf(node, {
    stdin: {
      contents: `module.exports = { ${specifiers.map((one) => `'${one}': () => require('${one}')`).join(', ')} };`,
      resolveDir: ROOT,
    },
    // Readers of stack traces look at the product's own code.
    minifyWhitespace: true,
    // THIRD-PARTY-NOTICES.txt has the notices of all packages.
    legalComments: 'none',
    plugins: [packages],
  });

async function textOf(node: string, options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build({
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: `node${node}`,
    logLevel: 'error',
    ...options,
  });
  return outputFiles.map(({ text }) => text).join('\n');
}

const PLACE_REQUIRES = `const { dirname: __directory, join: __join } = require('node:path'), { pathToFileURL: __url } = require('node:url');`;

/** A directory of a package where it is installed, for packages that read files beside their modules. */
const PLACE_OF_PACKAGE =
  'const __placeOfPackage = (name, path) => __join(__directory(require.resolve(name + "/package.json")), path);';

const IN_PACKAGES = `${sep}node_modules${sep}`;

const packageOf = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

/** Finds the modules that `require` would load, and gives each the directory where its package is installed. */
const packages: Plugin = {
  name: 'packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path, resolveDir }) => {
      const found = isBuiltin(path) ? null : resolved(path, resolveDir);
      // What is not installed is optional for the package: it fails, or does without, when it requires it.
      return found === null ? { path, external: true } : { path: found };
    });
    onLoad({ filter: /\.c?js$/ }, ({ path }) => {
      const at = path.lastIndexOf(IN_PACKAGES) + IN_PACKAGES.length;
      const name = packageOf(path.slice(at));
      const place = [name, relative(join(path.slice(0, at), name), dirname(path))].map((one) => JSON.stringify(one));
      const source = readFileSync(path, 'utf8');
      return { contents: source.replaceAll(/(?<![.\w])__dirname\b/g, `__placeOfPackage(${place})`), loader: 'js' };
    });
  },
};

function resolved(specifier: string, from: string): string | null {
  try {
    return createRequire(join(from, 'x.js')).resolve(specifier);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/**
 * Resolves imports of our own files, as esbuild would. But then it does not know that they are ES modules, and an import of a
 * package's default is the default of an ES module too, not the whole module.
 */
const ownImports: Plugin = {
  name: 'own imports',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => ({ path: join(resolveDir, path) }));
  },
};
