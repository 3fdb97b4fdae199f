"""Small files of every kind that can be attached, made without the libraries that read them."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

import pytest

from thoughtcycle.errors import ThoughtcycleError

DOCX_PARTS = {
    "[Content_Types].xml": '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>',
}
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(*pages: str, extra: str = "") -> bytes:
    """A PDF with a page per text; `extra` goes into its catalog."""
    objects = [f"<< /Type /Catalog /Pages 2 0 R {extra} >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * number} 0 R >>")
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    return _numbered(objects)


def _numbered(objects: list[str], trailer: str = "") -> bytes:
    out, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer}>>\n"
    return out + f"{end}startxref\n{len(out)}\n%%EOF\n".encode()


def locked_pdf() -> bytes:
    """A PDF that says it is encrypted."""
    zeros = "0" * 64
    locked = f"<< /Filter /Standard /V 1 /R 2 /O <{zeros}> /U <{zeros}> /P -4 >>"
    return _numbered(
        ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>", locked],
        "/Encrypt 3 0 R /ID [<00> <00>] ",
    )


def looped_pdf() -> bytes:
    """A PDF whose page tree is its own branch."""
    return _numbered(
        ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99 >>"]
    )


def docx(*paragraphs: str, document: str = "", parts: dict[str, bytes] | None = None) -> bytes:
    """A DOCX with these paragraphs and a table of one row; `document` replaces its text as a whole."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in ("prazo", "30 dias"))
    table = f"<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid><w:tr>{cells}</w:tr></w:tbl>"
    whole = f'<?xml version="1.0"?><w:document {_W}><w:body>{body}{table}</w:body></w:document>'
    held = {
        **{name: text.encode() for name, text in DOCX_PARTS.items()},
        "word/document.xml": (document or whole).encode(),
    }
    return zipped(held | (parts or {}))


def zipped(parts: dict[str, bytes]) -> bytes:
    """An archive of these files."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def png(width: int = 2, height: int = 3) -> bytes:
    """A PNG that says it has this size; its picture is one row of zeros."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    picture = zlib.compress(bytes(3))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", picture) + chunk(b"IEND", b"")


def jpeg(width: int = 2, height: int = 3) -> bytes:
    """The head of a JPEG of this size, behind an application segment and filling bytes."""
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 6) + b"JFIF" + b"\xff\xff" + frame + b"\xff\xd9"


def gif(width: int = 2, height: int = 3) -> bytes:
    """The head of a GIF of this size."""
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3) + b";"


def webp(width: int = 2, height: int = 3, form: bytes = b"VP8X") -> bytes:
    """The head of a WebP of this size, in each of its three forms."""
    if form == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif form == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = form + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


@contextmanager
def refused(kind: type[ThoughtcycleError], code: str) -> Iterator[None]:
    """What is done inside is refused with this code."""
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.code == code
