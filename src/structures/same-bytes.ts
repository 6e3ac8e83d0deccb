/** Whether two views hold the same bytes. Views of shared memory are other objects on each thread. */
export function hasSameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return bytesOf(a).equals(bytesOf(b));
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
