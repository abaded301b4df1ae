/** Datagrams to a Unix socket, which Node cannot send: what systemd's notifications and the journal take. */
import { AppError } from './errors.ts';

/** Sends one datagram to a socket's path or `@abstract` name: 0, or the errno. Never waits. */
export type SendDatagram = (address: string, message: Uint8Array) => number;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2_000_000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** sun_path of sockaddr_un, with the zero that ends a path. */
const addressBytesMax = 108;
const familyBytes = 2;

/** The errno of a receiver whose queue is full; sending again later may work. */
export const tryAgainErrno = 11;
const nameTooLongErrno = 36;

/**
 * koffi is an optional dependency: on a machine without it everything works but systemd's notifications.
 *
 * @throws AppError notify-unavailable when koffi is not installed or does not load here.
 */
export async function openDatagram(load = loadKoffi): Promise<SendDatagram> {
  let libc;
  try {
    libc = await load();
  } catch (cause) {
    throw new AppError('notify-unavailable', `cannot load koffi, which sends systemd's notifications`, {
      cause,
    });
  }
  const { sendto, errno, fd } = libc;
  return (address, message) => {
    const to = socketAddress(address);
    if (to === undefined) return nameTooLongErrno;
    const sent = sendto(fd, message, message.length, MSG_DONTWAIT | MSG_NOSIGNAL, to, to.length);
    return sent < 0 ? errno() : 0;
  };
}

async function loadKoffi() {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const sendto = libc.func(
    'long sendto(int fd, const void *message, size_t bytes, int flags, const void *to, uint32_t toBytes)',
  );
  const fd: number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw new Error(`socket(AF_UNIX, SOCK_DGRAM) failed with errno ${koffi.errno()}`);
  return { sendto, errno: () => koffi.errno(), fd };
}

/** A sockaddr_un; an abstract name starts with a zero byte and has none at its end. */
function socketAddress(address: string): Buffer | undefined {
  const path = address.startsWith('@') ? `\0${address.slice(1)}` : `${address}\0`;
  const bytes = Buffer.from(path, 'utf8');
  if (bytes.length > addressBytesMax) return undefined;
  const family = Buffer.alloc(familyBytes);
  // The family is a native integer; every machine that Node runs Linux on today is little-endian but s390x.
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] === 1) family.writeUInt16LE(AF_UNIX);
  else family.writeUInt16BE(AF_UNIX);
  return Buffer.concat([family, bytes]);
}
