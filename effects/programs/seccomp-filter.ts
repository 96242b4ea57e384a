import { endianness } from 'node:os';

/** System call numbers of one architecture, from the tables of the kernel. */
interface Architecture {
  /** `AUDIT_ARCH_*`: programs of another architecture on the same machine use other numbers. */
  readonly audit: number;
  readonly clone: number;
  readonly ioctl: number;
  /** `socket` and `socketpair`. */
  readonly sockets: readonly number[];
  /** See `REFUSED`; the same calls in each table. */
  readonly refused: readonly number[];
}

/** Equal on all architectures: since 5.1 Linux gives new system calls the same number everywhere. */
const REFUSED_EVERYWHERE = [
  ...[425, 426, 427], // io_uring: bypasses filters of system calls
  ...[428, 429, 430, 431, 432, 433, 442, 467], // the newer calls around mount
  443, // quotactl_fd
];
const CLONE3 = 435;

/**
 * Also refused: keyrings (the node's session keyring would be inherited), mounts, new namespaces, kernel modules, kexec,
 * bpf, perf, userfaultfd, handles of files, swap, reboot, the kernel's log, accounting, ports.
 */
const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    ioctl: 16,
    sockets: [41, 53],
    refused: [
      ...[103, 134, 155, 156, 163, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180],
      ...[212, 246, 248, 249, 250, 272, 298, 300, 304, 305, 308, 313, 320, 321, 323],
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    ioctl: 29,
    sockets: [198, 199],
    refused: [
      ...[18, 39, 40, 41, 42, 60, 89, 97, 104, 105, 106, 116, 142, 161, 162, 217, 218, 219, 224, 225],
      ...[241, 262, 265, 266, 268, 273, 280, 282, 294],
    ],
  },
};

const [LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
/** Unix, IPv4, IPv6, netlink: families that a network namespace covers. Others reach the host or kernel modules. */
const FAMILIES = [1, 2, 10, 16];
/** Offsets in `struct seccomp_data`; of 64-bit arguments the lower half. */
const [NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT] = [0, 4, 16, 24];
const X32_BIT = 0x40000000;
const CLONE_NEWUSER = 0x10000000;
/** `ioctl` requests that insert text into the input of a terminal. */
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * A filter of system calls for `bwrap --seccomp` and this architecture; null for an unknown one. It refuses calls that
 * unprivileged programs do not need and that past escapes used.
 */
export function seccompFilter(): Buffer | null {
  const known = ARCHITECTURES[process.arch];
  if (known === undefined || endianness() !== 'LE') return null;
  const { audit, clone, ioctl, sockets, refused } = known;
  const refuse = (error: number): Instruction => [RETURN, 0, 0, ERRNO | error];
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE],
    ...ifElse(EQUAL, audit, [], [refuse(ENOSYS)]),
    [LOAD, 0, 0, NUMBER],
    ...(process.arch === 'x64' ? ifElse(AT_LEAST, X32_BIT, [refuse(ENOSYS)], []) : []),
    ...[...refused, ...REFUSED_EVERYWHERE].flatMap((number) => ifElse(EQUAL, number, [refuse(EPERM)], [])),
    // Its flags are behind a pointer, which a filter cannot read; C libraries fall back to clone.
    ...ifElse(EQUAL, CLONE3, [refuse(ENOSYS)], []),
    ...ifElse(
      EQUAL,
      clone,
      [[LOAD, 0, 0, FIRST_ARGUMENT], ...ifElse(ANY_BIT, CLONE_NEWUSER, [refuse(EPERM)], []), [RETURN, 0, 0, ALLOW]],
      [],
    ),
    ...ifElse(
      EQUAL,
      ioctl,
      [
        [LOAD, 0, 0, SECOND_ARGUMENT],
        ...ifElse(EQUAL, TIOCSTI, [refuse(EPERM)], []),
        ...ifElse(EQUAL, TIOCLINUX, [refuse(EPERM)], []),
      ],
      [],
    ),
    ...sockets.flatMap((number) =>
      ifElse(
        EQUAL,
        number,
        [
          [LOAD, 0, 0, FIRST_ARGUMENT],
          ...FAMILIES.flatMap((family) => ifElse(EQUAL, family, [[RETURN, 0, 0, ALLOW]], [])),
          refuse(EAFNOSUPPORT),
        ],
        [],
      ),
    ),
    [RETURN, 0, 0, ALLOW],
  ];
  return encoded(program);
}

/** A test with one branch; the other continues. */
const ifElse = (
  test: number,
  value: number,
  whenTrue: readonly Instruction[],
  whenFalse: readonly Instruction[],
): Instruction[] =>
  whenTrue.length > 0
    ? [[test, 0, whenTrue.length, value], ...whenTrue]
    : [[test, whenFalse.length, 0, value], ...whenFalse];

/** An array of `struct sock_filter`. */
function encoded(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}
