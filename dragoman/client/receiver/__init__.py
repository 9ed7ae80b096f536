"""What a caller has its notifications come in by."""

from dragoman.client.receiver.intake import OnEvent
from dragoman.client.receiver.limits import ReceiverLimits
from dragoman.client.receiver.receiver import Receiver
from dragoman.client.receiver.signature import HmacSignature, JwtSignature, Signature

__all__ = ["HmacSignature", "JwtSignature", "OnEvent", "Receiver", "ReceiverLimits", "Signature"]
