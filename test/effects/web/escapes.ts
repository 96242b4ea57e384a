/** Attempts to make web.fetch reach forbidden addresses. Every row is refused before a byte is sent there. */
export interface WebEscape {
  readonly title: string;
  /** URL of the agent's call. `PORT` is that of a server on this machine's loopback that must not be reached. */
  readonly url: string;
  /** Answers of the resolver to the names in it, one after the other; the last one repeats. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** Redirects of a page that may be fetched, hop by hop. */
  readonly redirects?: readonly string[];
  readonly code: 'forbidden' | 'invalid_argument' | 'failed_precondition';
}

const refused = (title: string, url: string): WebEscape => ({ title: `${title}: ${url}`, url, code: 'forbidden' });
const malformed = (title: string, url: string): WebEscape => ({
  ...{ title: `${title}: ${JSON.stringify(url)}`, url, code: 'invalid_argument' },
});
const resolved = (title: string, ...answers: readonly (readonly string[])[]): WebEscape => ({
  ...{
    title: `a name of ${title}`,
    url: 'http://evil.example:PORT/',
    names: { 'evil.example': answers },
    code: 'forbidden',
  },
});
const redirected = (title: string, ...redirects: readonly string[]): WebEscape => ({
  ...{ title: `a redirect to ${title}`, url: 'http://start.example:OPEN/', redirects, code: 'forbidden' },
});

const LITERALS: readonly WebEscape[] = [
  refused('loopback', 'http://127.0.0.1:PORT/'),
  refused('loopback', 'http://127.255.255.254:PORT/'),
  refused('short form', 'http://127.1:PORT/'),
  refused('short form', 'http://127.0.1:PORT/'),
  refused('decimal', 'http://2130706433:PORT/'),
  refused('hexadecimal', 'http://0x7f000001:PORT/'),
  refused('hexadecimal in parts', 'http://0x7f.0x0.0x0.0x1:PORT/'),
  refused('octal', 'http://0177.0.0.1:PORT/'),
  refused('octal, whole', 'http://017700000001:PORT/'),
  refused('mixed', 'http://0x7f.1:PORT/'),
  refused('zeros in front', 'http://0000000177.0.0.1:PORT/'),
  refused('a dot behind', 'http://127.0.0.1.:PORT/'),
  refused('zero', 'http://0:PORT/'),
  refused('zero', 'http://0.0.0.0:PORT/'),
  refused('percent-encoded', 'http://%31%32%37.0.0.1:PORT/'),
  refused('full-width digits', 'http://１２７.０.０.１:PORT/'),
  refused('circled digits', 'http://①②⑦.⓪.⓪.①:PORT/'),
  refused('ideographic full stops', 'http://127。0。0。1:PORT/'),
  refused('upper-case scheme', 'HTTP://127.0.0.1:PORT/'),
  refused('three slashes', 'http:///127.0.0.1:PORT/'),
  refused('IPv6 loopback', 'http://[::1]:PORT/'),
  refused('IPv6 loopback, long', 'http://[0:0:0:0:0:0:0:1]:PORT/'),
  refused('IPv6 unspecified', 'http://[::]:PORT/'),
  refused('IPv4-mapped', 'http://[::ffff:127.0.0.1]:PORT/'),
  refused('IPv4-mapped in hexadecimal', 'http://[::ffff:7f00:1]:PORT/'),
  refused('IPv4-mapped private', 'http://[::ffff:10.0.0.1]/'),
  refused('IPv4-compatible', 'http://[::127.0.0.1]:PORT/'),
  refused('IPv4-translated', 'http://[::ffff:0:127.0.0.1]:PORT/'),
  refused('NAT64', 'http://[64:ff9b::127.0.0.1]:PORT/'),
  refused('NAT64 of metadata', 'http://[64:ff9b::169.254.169.254]/'),
  refused('local NAT64', 'http://[64:ff9b:1::127.0.0.1]/'),
  refused('6to4', 'http://[2002:7f00:1::]/'),
  refused('6to4 of a public address', 'http://[2002:808:808::]/'),
  refused('Teredo', 'http://[2001:0:7f00:1::]/'),
  refused('unique-local', 'http://[fc00::1]/'),
  refused('unique-local metadata', 'http://[fd00:ec2::254]/'),
  refused('link-local', 'http://[fe80::1]/'),
  refused('site-local', 'http://[fec0::1]/'),
  refused('multicast', 'http://[ff02::1]/'),
  refused('documentation', 'http://[2001:db8::1]/'),
  refused('documentation', 'http://[3fff::1]/'),
  refused('discard', 'http://[100::1]/'),
  refused('unassigned', 'http://[4000::1]/'),
  refused('segment routing', 'http://[5f00::1]/'),
  refused('private', 'http://10.0.0.1/'),
  refused('private', 'http://172.16.0.1/'),
  refused('private', 'http://172.31.255.255/'),
  refused('private', 'http://192.168.1.1/'),
  refused('private in octal', 'http://012.0.0.1/'),
  refused('link-local', 'http://169.254.1.1/'),
  refused('metadata', 'http://169.254.169.254/latest/meta-data/'),
  refused('metadata, decimal', 'http://2852039166/'),
  refused('metadata of Alibaba', 'http://100.100.100.200/'),
  refused('metadata of Oracle', 'http://192.0.0.192/'),
  refused('platform service of Azure', 'http://168.63.129.16/'),
  refused('carrier-grade NAT', 'http://100.64.0.1/'),
  refused('benchmark', 'http://198.18.0.1/'),
  refused('multicast', 'http://224.0.0.1/'),
  refused('broadcast', 'http://255.255.255.255/'),
  refused('reserved', 'http://240.0.0.1/'),
  refused('documentation', 'http://192.0.2.1/'),
  refused('documentation', 'http://203.0.113.1/'),
  refused('this machine’s public address', 'http://198.41.0.4:PORT/'),
];

const FORMS: readonly WebEscape[] = [
  malformed('another scheme', 'file:///etc/passwd'),
  malformed('another scheme', 'ftp://example.com/'),
  malformed('another scheme', 'gopher://127.0.0.1:6379/_INFO'),
  malformed('another scheme', 'data:text/html,x'),
  malformed('another scheme', 'javascript:alert(1)'),
  malformed('another scheme', 'ws://127.0.0.1/'),
  malformed('one slash', 'http:/127.0.0.1/'),
  malformed('no slash', 'http:127.0.0.1'),
  malformed('no scheme', '//127.0.0.1/'),
  malformed('no scheme', '127.0.0.1'),
  malformed('a blank in front', ' http://127.0.0.1/'),
  malformed('a line break', 'http://exa\nmple.com/'),
  malformed('a tab', 'ht\ttp://127.0.0.1/'),
  malformed('NUL', 'http://example.com\0.evil/'),
  malformed('a backslash', 'http://example.com\\@127.0.0.1/'),
  malformed('user name', 'http://example.com@127.0.0.1:PORT/'),
  malformed('user name and password', 'http://a:b@example.com/'),
  malformed('an empty host', 'http://'),
  malformed('only a dot', 'http://./'),
  malformed('two dots behind', 'http://example.com../'),
  malformed('a zone', 'http://[fe80::1%25eth0]/'),
  malformed('a port that is none', 'http://example.com:70000/'),
  malformed('an overlong URL', `http://example.com/${'x'.repeat(9_000)}`),
  refused('the port of SSH', 'http://open.example:22/'),
  refused('the port of SMTP', 'http://open.example:25/'),
  refused('the port of Redis', 'http://open.example:6379/'),
  refused('the port of Docker', 'http://open.example:2375/'),
  refused('a domain that the rules deny', 'http://denied.example/'),
  refused('a denied domain in capitals', 'http://DENIED.example/'),
  refused('a denied domain with a dot behind', 'http://denied.example./'),
];

const NAMES: readonly WebEscape[] = [
  resolved('loopback', ['127.0.0.1']),
  resolved('IPv6 loopback', ['::1']),
  resolved('an IPv4-mapped address', ['::ffff:127.0.0.1']),
  resolved('a private address', ['10.1.2.3']),
  resolved('metadata', ['169.254.169.254']),
  resolved('unique-local metadata', ['fd00:ec2::254']),
  resolved('a public and a private address', ['198.41.0.5', '10.1.2.3']),
  resolved('a public one and loopback behind 20 others', [...Array(20).fill('198.41.0.5'), '127.0.0.1']),
  resolved('a link-local address with a zone', ['fe80::1%eth0']),
  resolved('something that is no address', ['localhost']),
  resolved('an address of this machine', ['198.41.0.4']),
  resolved('loopback at the first look, public later', ['127.0.0.1'], ['198.41.0.5']),
  { ...refused('localhost', 'http://localhost:PORT/'), names: { localhost: [['127.0.0.1', '::1']] } },
  { ...refused('localhost with a dot', 'http://localhost.:PORT/'), names: { localhost: [['127.0.0.1']] } },
];

const REDIRECTS: readonly WebEscape[] = [
  redirected('loopback', 'http://127.0.0.1:PORT/'),
  redirected('decimal loopback', 'http://2130706433:PORT/'),
  redirected('IPv6 loopback', 'http://[::1]:PORT/'),
  redirected('metadata', 'http://169.254.169.254/'),
  redirected('another host without a scheme', '//127.0.0.1:PORT/'),
  redirected('a file', 'file:///etc/passwd'),
  redirected('data', 'data:text/plain,x'),
  redirected('gopher', 'gopher://127.0.0.1/'),
  redirected('a denied domain', 'http://denied.example/'),
  redirected('the port of Redis', 'http://open.example:6379/'),
  redirected('something that is no URL', 'http://[not'),
  redirected('loopback at the fourth hop', '/a', '/b', '/c', 'http://127.0.0.1:PORT/'),
  { ...redirected('user name and password', 'http://a:b@open.example/'), code: 'invalid_argument' },
  { ...redirected('itself, for ever', ...Array(11).fill('/again')), code: 'failed_precondition' },
  {
    ...redirected('the same name, which is loopback the second time', 'http://start.example:PORT/'),
    names: { 'start.example': [['127.0.0.2'], ['127.0.0.1']] },
  },
];

export const WEB_ESCAPES: readonly WebEscape[] = [...LITERALS, ...FORMS, ...NAMES, ...REDIRECTS];
